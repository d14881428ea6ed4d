# Uploads the code of Carillon's functions, and deploys the template beside this module.
# `npm run template` writes variables.tf, parameters.tf and outputs.tf from that template.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "name" {
  type        = string
  description = "The name of the stack."
  default     = "Carillon"
}

variable "code_bucket" {
  type        = string
  description = "The bucket, in the region of the stack, that gets the code of the functions and the template."
}

variable "code_prefix" {
  type        = string
  description = "The prefix of the objects' names in that bucket; it ends in /."
  default     = "carillon/"
}

locals {
  folder = "${path.module}/.."
}

data "aws_s3_bucket" "code" {
  bucket = var.code_bucket
}

resource "aws_s3_object" "code" {
  for_each = fileset(local.folder, "*.zip")

  bucket      = data.aws_s3_bucket.code.id
  key         = "${var.code_prefix}${each.value}"
  source      = "${local.folder}/${each.value}"
  source_hash = filesha256("${local.folder}/${each.value}")

  # The code of the previous release goes after the stack has left it: a rollback needs it.
  lifecycle {
    create_before_destroy = true
  }
}

# The name has the hash of the template, because CloudFormation compares addresses and not contents.
resource "aws_s3_object" "template" {
  bucket = data.aws_s3_bucket.code.id
  key    = "${var.code_prefix}${filesha256("${local.folder}/${local.template}")}.template.json"
  source = "${local.folder}/${local.template}"

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudformation_stack" "carillon" {
  name         = var.name
  template_url = "https://${data.aws_s3_bucket.code.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  capabilities = ["CAPABILITY_IAM"]
  depends_on   = [aws_s3_object.code]

  parameters = merge(local.parameters, {
    CodeBucket = var.code_bucket
    CodePrefix = var.code_prefix
  })

  timeouts {
    create = "2h"
    update = "2h"
    delete = "2h"
  }
}
